import { useEffect, useRef, useState } from 'preact/hooks'

/** Viewport width of the framed site in CSS pixels. */
const WIDTH = 1280

interface LiveFrameProps {
  /** The URL of a site. */
  src: string
  /** Accessible name. */
  title: string
  /** Changes when the site does. */
  version?: string | undefined
  /** `false` where an unknown site stands beside an input: a script could take focus, and with it a code. */
  scripts?: boolean
}

/**
 * A scaled-down desktop view of a site. It cannot navigate this page, and is skipped by keyboard navigation.
 */
export function LiveFrame({ src, title, version, scripts = true }: LiveFrameProps) {
  const box = useRef<HTMLDivElement>(null)
  const [scale, setScale] = useState(0.25)
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setScale(entry!.contentRect.width / WIDTH))
    watcher.observe(box.current!)
    return () => watcher.disconnect()
  }, [])
  useEffect(() => keepKeyboardFrom(box.current!), [])
  return (
    <div class="live-frame" ref={box}>
      <iframe
        key={version}
        src={src}
        title={title}
        loading="lazy"
        tabIndex={-1}
        referrerpolicy="no-referrer"
        sandbox={scripts ? 'allow-scripts allow-same-origin allow-forms' : 'allow-same-origin'}
        style={{ transform: `scale(${scale})` }}
      />
    </div>
  )
}

/**
 * A script in a frame may take focus; it is returned to the previous element. Returns a function that stops
 * this.
 */
function keepKeyboardFrom(box: HTMLElement): () => void {
  const listening = new AbortController()
  let before: EventTarget | null = document.activeElement
  const remember = ({ target }: FocusEvent) => {
    if (!box.contains(target as Node)) before = target
  }
  const returnFocus = () => {
    const focused = document.activeElement
    if (!(focused instanceof HTMLIFrameElement) || !box.contains(focused)) return
    focused.blur()
    if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true })
  }
  addEventListener('focusin', remember, listening)
  // Focus cannot be returned during the blur event.
  addEventListener('blur', () => setTimeout(returnFocus), listening)
  document.addEventListener('visibilitychange', returnFocus, listening)
  return () => listening.abort()
}
