import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { setDocumentTitle } from '../kit/document-title.ts'
import { isClientNavigation } from './route-focus.ts'

interface PageProps {
  /** Title of the tab, and the heading unless `heading` is given. */
  title: string
  heading?: ComponentChildren
  /** Beside the heading. */
  actions?: ComponentChildren
  /** For a page with one form. */
  narrow?: boolean
  /** Above the heading, such as a back link. */
  above?: ComponentChildren
  /** Below the heading, such as tabs. */
  below?: ComponentChildren
  children?: ComponentChildren
}

/** The frame of every page: its title, its only h1, and focus. */
export function Page({ title, heading, actions, narrow = false, above, below, children }: PageProps) {
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    setDocumentTitle(title)
  }, [title])
  useEffect(() => {
    const hasFocus = head.current!.closest('main')!.contains(document.activeElement)
    if (isClientNavigation() && !hasFocus) head.current!.focus()
  }, [])
  return (
    <main id="main" tabIndex={-1} class={`page stack wide ${narrow ? 'narrow' : ''}`}>
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
