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
    <Panel
      title="API key"
      lead="For the command, for CI and for programs of your own. In a browser you need none."
    >
      <div class="stack" ref={part} tabIndex={-1}>
        {key === undefined ? (
          <>
            <p>
              {hasKey
                ? 'There is a key. It was shown when it was made and cannot be shown again; a new one takes its place.'
                : 'There is no key yet.'}
            </p>
            {!isConfirming && <ErrorNotice error={make.error} />}
            <div class="choices">
              <Button busy={make.busy} onClick={() => (hasKey ? setConfirming(true) : make())}>
                {hasKey ? 'Make a new key' : 'Make a key'}
              </Button>
            </div>
          </>
        ) : (
          <NewKey apiKey={key} onHide={hide} />
        )}
      </div>
      {isConfirming && (
        <Confirm
          title="Make a new key?"
          verb="Make a new key"
          action={make}
          onClose={() => setConfirming(false)}
        >
          <p>
            The key you have ends at once: whatever uses it stops until it has the new one. You stay signed in
            here.
          </p>
          <p>The new key is shown once. It is gone when you leave the page, so copy it first.</p>
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
      <CopyLine text={apiKey} of="the key" />
      <Notice tone="warn" title="Copy it now. It is not shown again, and gone when you leave this page." />
      <p>Tell the command of it, in a terminal or in the settings of your CI:</p>
      <CopyBlock
        text={`export SLIPWAY_URL=${quoteShell(settings.baseUrl)}\nexport SLIPWAY_KEY=${apiKey}\n${npxCommand(settings.baseUrl)} publish ./folder`}
        of="the commands"
      />
      <p class="quiet small">
        On your own machine <code>{npxCommand(settings.baseUrl)} login</code> needs none of this: it mails a
        code, makes a key and remembers it. That key then takes the place of this one.
      </p>
      <div class="choices">
        <Button onClick={onHide}>Hide the key</Button>
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
