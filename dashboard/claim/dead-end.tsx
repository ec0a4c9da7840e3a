import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Page } from '../app/page.tsx'
import { Button } from '../kit/button.tsx'

interface DeadEndProps {
  title: string
  way: string
  /** Tries again, where that may end better. */
  onAgain?: (() => unknown) | undefined
  children?: ComponentChildren
}

/** A claim link that leads no further: why, and the way on. The reader is taken to its heading. */
export function DeadEnd({ title, way, onAgain, children }: DeadEndProps) {
  const part = useRef<HTMLDivElement>(null)
  useEffect(() => part.current?.closest('main')?.querySelector('h1')?.focus(), [title])
  return (
    <Page title="Claim a site" heading={title} narrow>
      <div class="stack" ref={part}>
        <p class="lead">{way}</p>
        {children}
        <div class="choices">
          {onAgain && (
            <Button look="main" onClick={onAgain}>
              Try again
            </Button>
          )}
          <a href="/">How to publish with Slipway</a>
        </div>
      </div>
    </Page>
  )
}
