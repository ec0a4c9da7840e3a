import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { type FramePort, type FromFrame, type Mark, openPort } from './port.ts'

interface ReviewFrameProps {
  frame: RefObject<HTMLIFrameElement | null>
  isHidden: boolean
  /** The URL of the page; another one, or another visit, loads it. */
  src: string
  visit: number
  /** CSS pixels; undefined for all that there is. */
  width: number | undefined
  commenting: boolean
  marks: readonly Mark[]
  /** The thread whose place is shown, on this page; another object shows it again. */
  shown: { id: string } | undefined
  /** A page has loaded, and its script is expected to answer. */
  onLoad: () => void
  onMessage: (message: FromFrame) => void
}

/** The reviewed page on its own origin. It can neither navigate this page nor read it. */
export function ReviewFrame(props: ReviewFrameProps) {
  const { frame, isHidden, src, visit, width, commenting, marks, shown, ...on } = props
  const port = useRef<FramePort | undefined>(undefined)
  const latest = useRef(props)
  latest.current = props
  // A page that is visited again stays where it is.
  const last = useRef(shown)
  useLayoutEffect(() => {
    port.current?.send({ type: 'mode', commenting })
    if (!commenting) return
    // The keys of the comment mode are those of the page in the frame.
    const { activeElement } = document
    frame.current?.focus()
    return () => {
      if (document.activeElement === frame.current && activeElement instanceof HTMLElement)
        activeElement.focus()
    }
  }, [commenting])
  useEffect(() => port.current?.send({ type: 'marks', marks: [...marks] }), [JSON.stringify(marks)])
  useEffect(() => {
    if (!shown || shown === last.current) return
    last.current = shown
    port.current?.send({ type: 'show', id: shown.id })
  }, [shown])
  useEffect(() => () => port.current?.close(), [])
  const connect = () => {
    on.onLoad()
    port.current?.close()
    port.current = openPort(frame.current!, (message) => {
      const { onMessage, commenting, marks } = latest.current
      onMessage(message)
      if (message.type !== 'ready') return
      // Another page may have other marks, which follow when this one has been drawn.
      port.current?.send({ type: 'mode', commenting })
      port.current?.send({ type: 'marks', marks: [...marks] })
    })
  }
  return (
    <div class="review-frame" hidden={isHidden}>
      <iframe
        key={visit}
        ref={frame}
        src={src}
        title="The reviewed page"
        style={width === undefined ? {} : { width: `${width}px` }}
        referrerpolicy="no-referrer"
        sandbox="allow-scripts allow-same-origin allow-forms"
        onLoad={connect}
      />
    </div>
  )
}
