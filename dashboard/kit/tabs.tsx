import { useLocation } from 'preact-iso'
import { useCentered } from './side-list.tsx'

interface View {
  href: string
  name: string
  /** A mark, such as "unsaved changes". */
  note?: string
}

/** Tabs with URLs of their own; the current one is in the middle of a narrow row. */
export function Views({ label, views }: { label: string; views: View[] }) {
  const { path, url } = useLocation()
  const current = views.find(({ href }) => href === url) ?? views.find(({ href }) => href === path)
  const list = useCentered(current?.href)
  return (
    <nav class="views" aria-label={label} ref={list}>
      {views.map(({ href, name, note }) => (
        <a key={href} href={href} aria-current={href === current?.href ? 'page' : undefined}>
          {name}
          {note && (
            <span class="tab-note">
              <span class="visually-hidden"> ({note})</span>
            </span>
          )}
        </a>
      ))}
    </nav>
  )
}
