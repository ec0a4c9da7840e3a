import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useRef } from 'preact/hooks'
import { setDocumentTitle } from '../kit/document-title.ts'

/** Whether a publication is the content of its page, rather than a part of it. */
export const IsWholePage = createContext(false)

interface StepHeadingProps {
  /** Whether focus moves to it: where it replaces what the user has pressed. */
  focused?: boolean
  children: ComponentChildren
}

/** The heading of a step of a publication: of the page, or of a part of it. */
export function StepHeading({ focused = false, children }: StepHeadingProps) {
  const isWholePage = useContext(IsWholePage)
  const head = useRef<HTMLHeadingElement>(null)
  const Level = isWholePage ? 'h1' : 'h2'
  useEffect(() => {
    if (isWholePage) setDocumentTitle(head.current!.textContent)
    if (!focused) return
    head.current!.focus()
    // The focus shows the heading alone, at the edge of a phone, without the buttons below it.
    if (!isWholePage) head.current!.parentElement!.scrollIntoView({ block: 'nearest' })
  }, [])
  return (
    <Level ref={head} tabIndex={-1}>
      {children}
    </Level>
  )
}
