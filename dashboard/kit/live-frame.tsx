import { useEffect, useRef, useState } from 'preact/hooks'
import { StoppedNotice, useFrameGuard } from './frame-guard.tsx'

/** Viewport width of the framed site in CSS pixels. */
const WIDTH = 1280

interface LiveFrameProps {
  /** The URL of a site. */
  src: string
  /** Accessible name. */
  title: string
  /** Changes when the site does. */
  version?: string | undefined
  /** `false` where an unknown site stands beside a sign-in form. */
  scripts?: boolean
}

/**
 * A scaled-down desktop view of a site. It cannot navigate this page, and is skipped by keyboard navigation.
 */
export function LiveFrame({ src, title, version, scripts = true }: LiveFrameProps) {
  const box = useRef<HTMLDivElement>(null)
  const frame = useRef<HTMLIFrameElement>(null)
  const [scale, setScale] = useState(0.25)
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setScale(entry!.contentRect.width / WIDTH))
    watcher.observe(box.current!)
    return () => watcher.disconnect()
  }, [])
  const guard = useFrameGuard(frame, { src, scripts })
  return (
    <>
      <div class="live-frame" ref={box}>
        {!guard.isAway && (
          <iframe
            key={`${version} ${guard.key}`}
            ref={frame}
            src={src}
            title={title}
            loading="lazy"
            tabIndex={-1}
            referrerpolicy="no-referrer"
            sandbox={guard.runs ? 'allow-scripts allow-same-origin allow-forms' : 'allow-same-origin'}
            style={{ transform: `scale(${scale})` }}
          />
        )}
      </div>
      <StoppedNotice guard={guard} />
    </>
  )
}
