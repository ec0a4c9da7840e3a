import type { HTMLAttributes, RefObject, TargetedPointerEvent } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { FrameGuard } from '../kit/frame-guard.tsx'
import { type FramePort, type FromFrame, type Mark, openPort } from './port.ts'

interface ReviewFrameProps {
  frame: RefObject<HTMLIFrameElement | null>
  guard: FrameGuard
  isDrawn: boolean
  isHidden: boolean
  /** The URL of the page; another one, or another visit, loads it. */
  src: string
  visit: number
  /** The URL of the page that it shows, which it loads when it returns. */
  current: string
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
  const { frame, guard, isDrawn, isHidden, visit, width, commenting, marks, shown, ...on } = props
  const src = useLastUrl(props)
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
  const pointed = usePointerRelay(frame, port)
  return (
    <div class="review-frame" hidden={isHidden} {...pointed}>
      {isDrawn && (
        <iframe
          key={`${visit} ${guard.key}`}
          ref={frame}
          src={src}
          title="The reviewed page"
          style={width === undefined ? {} : { width: `${width}px` }}
          referrerpolicy="no-referrer"
          sandbox={guard.runs ? 'allow-scripts allow-same-origin allow-forms' : 'allow-same-origin'}
          onLoad={guard.runs ? connect : undefined}
        />
      )}
    </div>
  )
}

type Relayed = Pick<HTMLAttributes<HTMLDivElement>, 'onWheel' | 'onPointerDown' | 'onClick'>

/** Sends the page what its box gets while a field has the focus, when the frame takes no pointer events. */
function usePointerRelay(
  frame: RefObject<HTMLIFrameElement | null>,
  port: RefObject<FramePort | undefined>,
): Relayed {
  const scroll = (event: WheelEvent) => {
    event.preventDefault()
    port.current?.send({ type: 'scroll', left: event.deltaX, top: event.deltaY })
  }
  // Otherwise the release of the button would be one in the frame, since the press has left the field.
  const hold = ({ currentTarget, pointerId, offsetX, offsetY }: TargetedPointerEvent<HTMLDivElement>) => {
    const isScrollbar = offsetX > currentTarget.clientWidth || offsetY > currentTarget.clientHeight
    if (!isScrollbar) currentTarget.setPointerCapture(pointerId)
  }
  const press = ({ clientX, clientY }: MouseEvent) => {
    const { left, top } = frame.current!.getBoundingClientRect()
    const at = { clientX: clientX - left, clientY: clientY - top }
    port.current?.send({ type: 'press', ...at, bubbles: true, cancelable: true, composed: true })
  }
  return { onWheel: scroll, onPointerDown: hold, onClick: press }
}

/** The URL that was requested, or that of the page that was shown when the guard removed the frame. */
function useLastUrl({ src, visit, current, guard }: ReviewFrameProps): string {
  const last = useRef({ request: '', key: guard.key, url: src })
  const request = `${visit} ${src}`
  if (last.current.request !== request) last.current = { request, key: guard.key, url: src }
  else if (last.current.key !== guard.key) last.current = { request, key: guard.key, url: current }
  return last.current.url
}
