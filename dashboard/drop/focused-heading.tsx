import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** The heading of replaced content; focus moves to it. */
export function FocusedHeading({ children }: { children: ComponentChildren }) {
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => head.current?.focus(), [])
  return (
    <h2 ref={head} tabIndex={-1}>
      {children}
    </h2>
  )
}
