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

/** The part of the window in which a section counts as the current one. */
const CURRENT_AREA = '0px 0px -65% 0px'

function useVisibleSection(ids: readonly SectionId[]): SectionId {
  const [visible, setVisible] = useState<SectionId>('general')
  useEffect(() => {
    const shown = new Set<string>()
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries)
          if (isIntersecting) shown.add(target.id)
          else shown.delete(target.id)
        const first = ids.find((id) => shown.has(id))
        if (first) setVisible(first)
      },
      { rootMargin: CURRENT_AREA },
    )
    for (const id of ids) observer.observe(document.getElementById(id)!)
    return () => observer.disconnect()
  }, [ids.join()])
  // The browser has looked for the target before the page was drawn.
  useEffect(() => {
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView()
  }, [])
  return visible
}
