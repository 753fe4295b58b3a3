import Link from 'next/link'
import { PageBody, PageHeader } from './_shell/header'

export default function NotFound() {
  return (
    <>
      <PageHeader title="Not found" />
      <PageBody>
        <p className="py-5">
          There is nothing at this address. Look among the <Link href="/keys">keys</Link>, or go to the{' '}
          <Link href="/">overview</Link>.
        </p>
      </PageBody>
    </>
  )
}
