import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** The heading of what takes the place of something else; readers and keyboards are led to it. */
export function ArrivedHeading({ children }: { children: ComponentChildren }) {
  const head = useRef<HTMLHeadingElement>(null)
  useEffect(() => head.current?.focus(), [])
  return (
    <h2 ref={head} tabIndex={-1}>
      {children}
    </h2>
  )
}
