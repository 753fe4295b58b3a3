'use client'
// A secret, shown this once. Neither Escape nor a click beside it takes it away.
import { Button } from './button'
import { CopyButton } from './copy-button'
import { Dialog } from './dialog'
import { TextField } from './field'

interface SecretDialogProps {
  title: string
  about: string
  /** What it is: API key, token, password. */
  label: string
  secret: string
  onClose(): void
}

export function SecretDialog({ title, about, label, secret, onClose }: SecretDialogProps) {
  return (
    <Dialog
      open
      held
      onOpenChange={(open) => !open && onClose()}
      title={title}
      about={about}
      buttons={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="flex flex-wrap items-end gap-2 px-5 pt-4">
        <div className="min-w-0 flex-1 basis-52">
          <TextField
            label={label}
            readOnly
            value={secret}
            className="font-mono text-12"
            onFocus={(event) => event.target.select()}
          />
        </div>
        <CopyButton text={secret} />
      </div>
      <p className="px-5 pt-2 pb-4 text-text-2">It will not be shown again: only its hash is stored. Copy it now.</p>
    </Dialog>
  )
}
