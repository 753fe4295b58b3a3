'use client'
// The way to sample traffic once the first visit is over.
import { Ellipsis } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../_ui/button'
import { Dialog } from '../../_ui/dialog'
import { Menu, MenuItem } from '../../_ui/menu'
import { SendTraffic } from './send-traffic'
import { type PlannedPart, requestsIn, TrafficPlan } from './traffic-plan'

interface TrafficMenuProps {
  plan: readonly PlannedPart[]
  forbidden: string | null
  running: boolean
}

export function TrafficMenu({ plan, forbidden, running }: TrafficMenuProps) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Menu
        trigger={
          <Button size="icon" aria-label="More">
            <Ellipsis size={16} aria-hidden />
          </Button>
        }
      >
        <MenuItem onSelect={() => setOpen(true)}>Sample traffic…</MenuItem>
      </Menu>
      <Dialog
        open={open}
        onOpenChange={setOpen}
        title="Sample traffic"
        about={`${requestsIn(plan)} real requests through the real API as tenant demo, against the sandbox provider. Takes about a minute.`}
        buttons={
          <div className="flex flex-wrap items-center justify-end gap-2">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <SendTraffic forbidden={forbidden} running={running} onSent={() => setOpen(false)} />
          </div>
        }
      >
        <div className="px-5 py-3">
          <TrafficPlan plan={plan} />
        </div>
      </Dialog>
    </>
  )
}
