import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { cameFromElsewhere } from './arrival.ts'

interface PageProps {
  /** Of the tab, and the heading unless `heading` says more. */
  title: string
  heading?: ComponentChildren
  /** Beside the heading. */
  actions?: ComponentChildren
  /** For a page with one form. */
  narrow?: boolean
  /** What comes above the heading, such as the way back. */
  above?: ComponentChildren
  /** What belongs to the heading, such as the ways to the views of one thing. */
  below?: ComponentChildren
  children?: ComponentChildren
}

/** The frame of every page: its title, one first heading, and the reader's place at it. */
export function Page({ title, heading, actions, narrow = false, above, below, children }: PageProps) {
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Slipway`
  }, [title])
  useEffect(() => {
    if (cameFromElsewhere()) head.current?.focus()
  }, [])
  return (
    <main class={`page stack wide ${narrow ? 'narrow' : ''}`}>
      <div class="stack tight">
        {above}
        <div class="page-head">
          <h1 ref={head} tabIndex={-1}>
            {heading ?? title}
          </h1>
          {actions && <div class="choices">{actions}</div>}
        </div>
        {below}
      </div>
      {children}
    </main>
  )
}
