import type { Metadata } from 'next'
import Link from 'next/link'
import { PageBody, PageHeader } from '../../_shell/header'

export const metadata: Metadata = { title: 'No such key' }

export default function NoSuchKey() {
  return (
    <>
      <PageHeader title="No such key" />
      <PageBody>
        <p className="py-5 text-20 font-semibold tracking-[-0.01em]">There is no record with this id.</p>
        <p className="max-w-[640px] text-text-2">
          Either it never existed, or it expired and the reaper has deleted its tombstone. The order that it made, if it
          made one, is still there: search for its id, a provider reference or the key itself on the{' '}
          <Link href="/keys">Keys</Link> page. Who did what to it is in the <Link href="/audit">audit log</Link>.
        </p>
      </PageBody>
    </>
  )
}
