import { useEffect, useRef, useState } from 'preact/hooks'
import { npxCommand, quoteShell } from '../../protocol/client-package.ts'
import { useAction } from '../api/action.ts'
import { settings } from '../api/settings.ts'
import { slipway } from '../api/slipway.ts'
import { Button } from '../kit/button.tsx'
import { CopyBlock, CopyLine } from '../kit/copy.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'

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
          <NewKey apiKey={key} onHide={hide} />
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

function NewKey({ apiKey, onHide }: { apiKey: string; onHide: () => void }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [apiKey])
  return (
    <div class="stack">
      <h3 ref={heading} tabIndex={-1}>
        Your new key
      </h3>
      <CopyLine text={apiKey} of="API key" />
      <Notice tone="warn" title="Copy this key now. You won't see it again." />
      <p>Use it on the command line or in CI:</p>
      <CopyBlock
        text={`export SLIPWAY_URL=${quoteShell(settings.baseUrl)}\nexport SLIPWAY_KEY=${apiKey}\n${npxCommand(settings.baseUrl)} publish ./folder`}
        of="commands"
      />
      <p class="quiet small">
        On your own computer, run <code>{npxCommand(settings.baseUrl)} login</code> instead.
      </p>
      <div class="choices">
        <Button onClick={onHide}>Hide key</Button>
      </div>
    </div>
  )
}

/** The back/forward cache may restore a page with everything on it: the key is cleared on leaving. */
function useClearOnPageHide(forget: () => void): void {
  useEffect(() => {
    addEventListener('pagehide', forget)
    return () => removeEventListener('pagehide', forget)
  }, [])
}
