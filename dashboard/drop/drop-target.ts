import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { carriesFiles, readDrop, type Selection } from './selection.ts'

interface DropTargetOptions {
  /** The drop target; the whole window by default. */
  box?: RefObject<HTMLElement | null>
  /** Whether it accepts drops now. */
  open?: boolean
  onPicked: (picked: Selection) => void
}

/** Whether files are dragged over the target. A drop beside it does not navigate away. */
export function useDropTarget({ box, open = true, onPicked }: DropTargetOptions): boolean {
  const [isOver, setOver] = useState(false)
  const taken = useRef(onPicked)
  taken.current = onPicked
  useEffect(() => {
    const listening = new AbortController()
    if (open) listen(box?.current ?? window, { setOver, take: (picked) => taken.current(picked) }, listening)
    guard(listening)
    return () => {
      listening.abort()
      setOver(false)
    }
  }, [open])
  return isOver
}

interface Listener {
  setOver(isOver: boolean): void
  take(picked: Selection): void
}

function listen(target: HTMLElement | Window, { setOver, take }: Listener, until: AbortController): void {
  const on = (name: 'dragover' | 'dragleave' | 'drop', handle: (event: DragEvent) => void) =>
    target.addEventListener(
      name,
      (event) => carriesFiles(event as DragEvent) && handle(event as DragEvent),
      until,
    )
  on('dragover', (event) => {
    event.preventDefault()
    event.dataTransfer!.dropEffect = 'copy'
    setOver(true)
  })
  on('dragleave', ({ relatedTarget }) => {
    const stays =
      relatedTarget instanceof Node && (target === window || (target as Node).contains(relatedTarget))
    if (!stays) setOver(false)
  })
  on('drop', (event) => {
    event.preventDefault()
    setOver(false)
    take(readDrop(event.dataTransfer!))
  })
}

/** Browsers open a dropped file in place of the page by default. */
function guard(until: AbortController): void {
  const refuse = (event: DragEvent) => {
    if (event.defaultPrevented || !carriesFiles(event)) return
    event.preventDefault()
    event.dataTransfer!.dropEffect = 'none'
  }
  addEventListener('dragover', refuse, until)
  addEventListener('drop', refuse, until)
}
