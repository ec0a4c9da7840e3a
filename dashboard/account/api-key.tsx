import { useRef, useState } from 'preact/hooks'
import { useAction } from '../api/action.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { ShownKey, useClearOnPageHide } from './shown-key.tsx'

interface ApiKeyProps {
  hasKey: boolean
  onMade: () => void
}

/** The API key. A new one is shown once and stored nowhere in the browser. */
export function ApiKey({ hasKey, onMade }: ApiKeyProps) {
  const [key, show] = useState<string | undefined>(undefined)
  const [isConfirming, setConfirming] = useState(false)
  const make = useAction(async () => {
    show((await slipway.newKey()).apiKey)
    setConfirming(false)
    onMade()
  })
  const part = useRef<HTMLDivElement>(null)
  useClearOnPageHide(() => show(undefined))
  const hide = () => {
    show(undefined)
    part.current?.focus()
  }
  return (
    <Panel title="API key" lead="For the command line, CI and your own programs.">
      <div class="stack" ref={part} tabIndex={-1}>
        {key === undefined ? (
          <>
            <p>
              {hasKey ? "You have a key. It can't be shown again; a new key replaces it." : 'No API key yet.'}
            </p>
            {!isConfirming && <ErrorNotice error={make.error} />}
            <div class="choices">
              <Button busy={make.busy} onClick={() => (hasKey ? setConfirming(true) : make())}>
                {hasKey ? 'Replace key' : 'Create key'}
              </Button>
            </div>
          </>
        ) : (
          <ShownKey apiKey={key} onHide={hide} />
        )}
      </div>
      {isConfirming && (
        <Confirm
          title="Replace API key?"
          verb="Replace key"
          action={make}
          onClose={() => setConfirming(false)}
        >
          <p>
            The current key stops working immediately. Update everything that uses it. You stay signed in.
          </p>
          <p>The new key is shown only once.</p>
        </Confirm>
      )}
    </Panel>
  )
}
