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
}

/** A site as a wide screen shows it, made small. It cannot lead this page elsewhere, and the keyboard passes it by. */
export function LiveFrame({ src, title, version }: LiveFrameProps) {
  const box = useRef<HTMLDivElement>(null)
  const [scale, setScale] = useState(0.25)
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setScale(entry!.contentRect.width / WIDTH))
    watcher.observe(box.current!)
    return () => watcher.disconnect()
  }, [])
  return (
    <div class="live-frame" ref={box}>
      <iframe
        key={version}
        src={src}
        title={title}
        loading="lazy"
        tabIndex={-1}
        referrerpolicy="no-referrer"
        sandbox="allow-scripts allow-same-origin allow-forms"
        style={{ transform: `scale(${scale})` }}
      />
    </div>
  )
}
