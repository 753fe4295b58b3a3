// Above every page while the fence of a restore is up: whether new requests begin, and until when RESTORED_FROM is needed.
import clsx from 'clsx'
import Link from 'next/link'
import { operatorServices } from '../../../lib/node/operator-services'
import { Instant } from '../../_ui/time'

export async function RestoreBanner() {
  // That it can't be told is no reason to show no page.
  const restore = await operatorServices()
    .restoreStatus()
    .catch(() => null)
  if (!restore) return null
  const running = restore.state === 'running'
  return (
    <div
      role="status"
      className={clsx('border-b border-line px-4 py-2 wide:px-6', running ? 'bg-unknown-tint' : 'bg-sunken')}
    >
      {running ? (
        <>
          <strong className="font-semibold">Restored. New requests wait.</strong> The provider is asked what it did
          since <Instant at={restore.restoredFrom} />. Until that is known, new keys get 503.{' '}
        </>
      ) : (
        <>
          <strong className="font-semibold">Restored.</strong> What the provider did since{' '}
          <Instant at={restore.restoredFrom} /> is not done again. Keep RESTORED_FROM set until{' '}
          <Instant at={restore.until} seconds={false} />.{' '}
        </>
      )}
      {restore.runId && <Link href={`/maintenance/runs/${restore.runId}`}>Restore run</Link>}
    </div>
  )
}
