'use client'
// A page that could not be made. What was chosen is in the address and stays; trying again is one click.
import { useRouter } from 'next/navigation'
import { useTransition } from 'react'
import { Button } from '../_ui/button'
import { Failure } from '../_ui/section'
import { PageBody, PageHeader } from './_shell/header'

export default function PageFailed({ reset }: { reset(): void }) {
  const router = useRouter()
  const [trying, start] = useTransition()
  const again = () =>
    start(() => {
      router.refresh()
      reset()
    })
  return (
    <>
      <PageHeader title="Can’t show this page" />
      <PageBody>
        <div className="py-5">
          <Failure
            action={
              <Button onClick={again} disabled={trying}>
                Try again
              </Button>
            }
          >
            The database can’t be reached, or something is wrong on our side. Your filters are in the address and stay.
          </Failure>
        </div>
      </PageBody>
    </>
  )
}
