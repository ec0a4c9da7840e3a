import { useLocation } from 'preact-iso'

/** Tabs with URLs of their own. */
export function Views({ label, views }: { label: string; views: { href: string; name: string }[] }) {
  const { path, url } = useLocation()
  const current = views.find(({ href }) => href === url) ?? views.find(({ href }) => href === path)
  return (
    <nav class="views" aria-label={label}>
      {views.map(({ href, name }) => (
        <a key={href} href={href} aria-current={href === current?.href ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  )
}
