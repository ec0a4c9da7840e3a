import { useEffect, useRef } from 'preact/hooks'
import { npxCommand, quoteShell } from '../../protocol/client-package.ts'
import { settings } from '../api/settings.ts'
import { Button } from '../kit/button.tsx'
import { CopyBlock, CopyLine } from '../kit/copy.tsx'
import { Notice } from '../kit/notice.tsx'

/** A new key, which is shown once. */
export function ShownKey({ apiKey, onHide }: { apiKey: string; onHide: () => void }) {
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
export function useClearOnPageHide(forget: () => void): void {
  useEffect(() => {
    addEventListener('pagehide', forget)
    return () => removeEventListener('pagehide', forget)
  }, [])
}
