import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'

interface SideListProps {
  label: string
  links: { href: string; name: string; isDanger?: boolean | undefined }[]
  /** The `href` of the link to what is shown. */
  current: string
  /** What the links lead to. Default `page`. */
  kind?: 'page' | 'section'
}

/** Links beside a page, above it on a narrow one; the current one is in the middle of a narrow list. */
export function SideList({ label, links, current, kind = 'page' }: SideListProps) {
  const list = useCentered(current)
  return (
    <nav class="side-list" aria-label={label} ref={list}>
      {links.map(({ href, name, isDanger }) => (
        <a
          key={href}
          href={href}
          class={isDanger ? 'danger' : ''}
          aria-current={href !== current ? undefined : kind === 'page' ? 'page' : 'true'}
        >
          {name}
        </a>
      ))}
    </nav>
  )
}

/** The ref of a list of links that scrolls sideways: the current one is in its middle. */
export function useCentered(current: string | undefined): RefObject<HTMLElement | null> {
  const list = useRef<HTMLElement>(null)
  useEffect(() => {
    const link = list.current!.querySelector<HTMLElement>('[aria-current]')
    if (!link) return
    list.current!.scrollTo({ left: link.offsetLeft - (list.current!.clientWidth - link.offsetWidth) / 2 })
  }, [current])
  return list
}

export interface PageSection {
  id: string
  name: string
  isDanger?: boolean
}

interface SectionedProps {
  label: string
  sections: readonly PageSection[]
  class?: string
  /** Has a `Section` for each. */
  children: ComponentChildren
}

/** The sections of a page, with a list of them that marks the one at the top of the window. */
export function Sectioned({ label, sections, children, ...rest }: SectionedProps) {
  const current = useVisibleSection(sections.map(({ id }) => id))
  const links = sections.map(({ id, ...section }) => ({ href: `#${id}`, ...section }))
  return (
    <div class={`sided ${rest.class ?? ''}`}>
      <SideList label={label} links={links} current={`#${current}`} kind="section" />
      <div class="stack">{children}</div>
    </div>
  )
}

/** A section that the list links to. */
export function Section({ id, children }: { id: string; children: ComponentChildren }) {
  return (
    <div id={id} class="page-section">
      {children}
    </div>
  )
}

/** Pixels by which a section that was scrolled to may be below its place. */
const TOLERANCE = 2

function useVisibleSection(ids: readonly string[]): string {
  const { url } = useLocation()
  const [visible, setVisible] = useState(ids[0]!)
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
  }, [url])
  return visible
}

/** The section that a link scrolled to, or that is at the top; at the end of the page the one that cannot get there. */
function findVisible(ids: readonly string[]): string {
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
