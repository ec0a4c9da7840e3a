import { useEffect, useRef, useState } from 'preact/hooks'

/** Width in CSS pixels that a site believes to have. */
const WIDTH = 1280

interface LiveFrameProps {
  /** An address of a site. */
  src: string
  /** What it shows, for those who do not see it. */
  title: string
  /** Changes when the site does. */
  version?: string | undefined
  /** `false` where somebody else's site stands beside what is typed: a script could take the keyboard, and so a code. */
  scripts?: boolean
}

/** A site as a wide screen shows it, made small. It cannot lead this page elsewhere, and the keyboard passes it by. */
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

/** A script in a frame may take the keyboard without being asked; it goes back to where it was. Answers how to stop. */
function keepKeyboardFrom(box: HTMLElement): () => void {
  const listening = new AbortController()
  let before: EventTarget | null = document.activeElement
  const remember = ({ target }: FocusEvent) => {
    if (!box.contains(target as Node)) before = target
  }
  const giveBack = () => {
    const taker = document.activeElement
    if (!(taker instanceof HTMLIFrameElement) || !box.contains(taker)) return
    taker.blur()
    if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true })
  }
  addEventListener('focusin', remember, listening)
  // While it is being taken it cannot be had back.
  addEventListener('blur', () => setTimeout(giveBack), listening)
  document.addEventListener('visibilitychange', giveBack, listening)
  return () => listening.abort()
}
