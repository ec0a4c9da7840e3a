import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Page } from '../app/page.tsx'
import { Button } from '../kit/button.tsx'

interface ClaimErrorProps {
  title: string
  hint: string
  /** Retries, where that may help. */
  onAgain?: (() => unknown) | undefined
  children?: ComponentChildren
}

/** A claim link that cannot be used: why, and the next step. Focus moves to its heading. */
export function ClaimError({ title, hint, onAgain, children }: ClaimErrorProps) {
  const part = useRef<HTMLDivElement>(null)
  useEffect(() => part.current?.closest('main')?.querySelector('h1')?.focus(), [title])
  return (
    <Page title="Keep a site" heading={title} narrow>
      <div class="stack" ref={part}>
        <p class="lead">{hint}</p>
        {children}
        <div class="choices">
          {onAgain && (
            <Button variant="main" onClick={onAgain}>
              Try again
            </Button>
          )}
          <a href="/">Publish a site</a>
        </div>
      </div>
    </Page>
  )
}
