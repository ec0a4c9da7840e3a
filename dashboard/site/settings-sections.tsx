import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

const SECTIONS = [
  ['general', 'General'],
  ['link-preview', 'Link preview'],
  ['access', 'Access'],
  ['routing', 'Routing'],
  ['people', 'People'],
  ['domains', 'Domains'],
  ['danger-zone', 'Danger zone'],
] as const

type SectionId = (typeof SECTIONS)[number][0]

/** Whether a section is shown; by default it is. */
export type ShownSections = Partial<Record<SectionId, boolean>>

/** Links to the sections of this page; marks the one at the top of the window, in the middle of a narrow list. */
export function SectionList({ shown }: { shown: ShownSections }) {
  const sections = SECTIONS.filter(([id]) => shown[id] ?? true)
  const current = useVisibleSection(sections.map(([id]) => id))
  const list = useRef<HTMLElement>(null)
  useEffect(() => {
    const link = list.current!.querySelector<HTMLElement>('[aria-current]')!
    list.current!.scrollTo({ left: link.offsetLeft - (list.current!.clientWidth - link.offsetWidth) / 2 })
  }, [current])
  return (
    <nav class="section-list" aria-label="Settings" ref={list}>
      {sections.map(([id, name]) => (
        <a key={id} href={`#${id}`} aria-current={id === current ? 'true' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  )
}

interface SettingsSectionProps {
  id: SectionId
  shown?: ShownSections
  children: ComponentChildren
}

/** A section that the list links to. */
export function SettingsSection({ id, shown = {}, children }: SettingsSectionProps) {
  if (shown[id] === false) return null
  return (
    <div id={id} class="settings-section">
      {children}
    </div>
  )
}

/** Pixels by which a section that was scrolled to may be below its place. */
const TOLERANCE = 2

function useVisibleSection(ids: readonly SectionId[]): SectionId {
  const [visible, setVisible] = useState<SectionId>('general')
  useEffect(() => {
    const listening = new AbortController()
    const update = () => setVisible(findVisible(ids))
    for (const name of ['scroll', 'resize', 'hashchange'])
      addEventListener(name, update, { signal: listening.signal, passive: true })
    return () => listening.abort()
  }, [ids.join()])
  // The browser has looked for the target before the page was drawn.
  useEffect(() => {
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView()
  }, [])
  return visible
}

/** The section that a link scrolled to, or that is at the top; at the end of the page the one that cannot get there. */
function findVisible(ids: readonly SectionId[]): SectionId {
  const reached = ids.findLastIndex((id) => {
    const section = document.getElementById(id)
    // The page may have been left before this listener is removed.
    if (!section) return false
    const margin = Number.parseFloat(getComputedStyle(section).scrollMarginTop)
    return section.getBoundingClientRect().top <= margin + TOLERANCE
  })
  const { scrollHeight, clientHeight } = document.documentElement
  if (scrollY + clientHeight < scrollHeight - TOLERANCE) return ids[Math.max(0, reached)]!
  return ids.slice(reached + 1).find((id) => location.hash === `#${id}`) ?? ids.at(-1)!
}
