import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'

const SECTIONS = [
  ['general', 'General'],
  ['link-preview', 'Link preview'],
  ['access', 'Access'],
  ['routing', 'Routing'],
  ['domains', 'Domains'],
  ['danger-zone', 'Danger zone'],
] as const

type SectionId = (typeof SECTIONS)[number][0]

/** Links to the sections of this page; marks the one at the top of the window. */
export function SectionList() {
  const current = useVisibleSection()
  return (
    <nav class="section-list" aria-label="Settings">
      {SECTIONS.map(([id, name]) => (
        <a key={id} href={`#${id}`} aria-current={id === current ? 'true' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  )
}

/** A section that the list links to. */
export function SettingsSection({ id, children }: { id: SectionId; children: ComponentChildren }) {
  return (
    <div id={id} class="settings-section">
      {children}
    </div>
  )
}

/** The part of the window in which a section counts as the current one. */
const CURRENT_AREA = '0px 0px -65% 0px'

function useVisibleSection(): SectionId {
  const [visible, setVisible] = useState<SectionId>('general')
  useEffect(() => {
    const shown = new Set<string>()
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries)
          if (isIntersecting) shown.add(target.id)
          else shown.delete(target.id)
        const first = SECTIONS.find(([id]) => shown.has(id))
        if (first) setVisible(first[0])
      },
      { rootMargin: CURRENT_AREA },
    )
    for (const [id] of SECTIONS) observer.observe(document.getElementById(id)!)
    // The browser has looked for the target before the page was drawn.
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView()
    return () => observer.disconnect()
  }, [])
  return visible
}
