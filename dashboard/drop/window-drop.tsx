import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { stripControlChars } from '../../protocol/format.ts'
import { Icon } from '../kit/icon.tsx'
import { showToast } from '../kit/toast.tsx'
import { beginJob, isBusyAt, WAIT_FOR_UPLOAD } from './jobs.ts'
import { type DropTarget, pageTarget } from './page-target.ts'
import { carriesFiles, readDrop, readPaste, type Selection } from './selection.ts'

/** Elements with a target of their own, such as the rows of a list. */
const elementTargets = new WeakMap<Element, DropTarget>()

/** Gives an element a target of its own. Returns a function that removes it. */
export function setElementTarget(element: Element, target: DropTarget): () => void {
  elementTargets.set(element, target)
  return () => void elementTargets.delete(element)
}

/** The place of the element target under the pointer is marked with this class. */
const OVER_CLASS = 'over'

interface Hover {
  target: DropTarget
  /** The element of the target, if it has one of its own. */
  element: Element | undefined
}

/**
 * Makes the whole window take dropped and pasted files, with an overlay that names what a drop does. Files that are
 * dropped never replace the page.
 */
export function WindowDrop() {
  const { route } = useLocation()
  const [hover, setHover] = useState<Hover | undefined>(undefined)
  const isOpen = hover !== undefined && accepts(hover.target)
  useEffect(() => {
    const take = ({ place, path, destination }: DropTarget, picked: Selection) => {
      beginJob(place, picked, destination)
      if (path !== undefined && path !== location.pathname + location.search) route(path)
    }
    const listening = new AbortController()
    listenForDrops(listening, setHover, take)
    listenForPastes(listening, take)
    return () => listening.abort()
  }, [route])
  useEffect(() => {
    const element = isOpen ? hover?.element : undefined
    element?.classList.add(OVER_CLASS)
    return () => element?.classList.remove(OVER_CLASS)
  }, [hover?.element, isOpen])
  if (!hover) return null
  return (
    <div class={`drop-overlay ${hover.element ? 'on-element' : ''}`} aria-hidden="true">
      <p class="drop-label">
        <Icon name={isOpen ? 'upload' : 'clock'} size={28} />
        {isOpen ? stripControlChars(hover.target.label) : WAIT_FOR_UPLOAD}
      </p>
    </div>
  )
}

type Take = (target: DropTarget, picked: Selection) => void

function listenForDrops(
  listening: AbortController,
  setHover: (change: (before: Hover | undefined) => Hover | undefined) => void,
  take: Take,
): void {
  const on = (name: 'dragover' | 'dragleave' | 'drop', handle: (event: DragEvent) => void) =>
    addEventListener(name, (event) => carriesFiles(event) && handle(event), listening)
  on('dragover', (event) => {
    // Browsers open a dropped file in place of the page by default.
    event.preventDefault()
    const found = findTarget(event)
    event.dataTransfer!.dropEffect = found && accepts(found.target) ? 'copy' : 'none'
    // The event repeats several times a second: an equal value draws nothing.
    setHover((before) =>
      before?.target === found?.target && before?.element === found?.element ? before : found,
    )
  })
  on('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) setHover(() => undefined)
  })
  on('drop', (event) => {
    event.preventDefault()
    setHover(() => undefined)
    const found = findTarget(event)
    if (found && accepts(found.target)) take(found.target, readDrop(event.dataTransfer!))
  })
}

function listenForPastes(listening: AbortController, take: Take): void {
  addEventListener(
    'paste',
    (event) => {
      if (isEditable(event.target) || isDialogOpen() || !accepts(pageTarget.value)) return
      const picked = readPaste(event.clipboardData!)
      if (!picked) return showToast('Only files, images and HTML can be pasted here.')
      event.preventDefault()
      take(pageTarget.value, picked)
    },
    listening,
  )
}

/** None while a dialog is open, which hides the page. */
function findTarget({ target }: DragEvent): Hover | undefined {
  if (isDialogOpen()) return undefined
  let element = target instanceof Element ? target : null
  while (element && !elementTargets.has(element)) element = element.parentElement
  const own = element ? elementTargets.get(element) : undefined
  return own ? { target: own, element: element! } : { target: pageTarget.value, element: undefined }
}

function accepts({ place }: DropTarget): boolean {
  return !isBusyAt(place)
}

function isDialogOpen(): boolean {
  return document.querySelector('dialog[open]') !== null
}

function isEditable(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null
}
