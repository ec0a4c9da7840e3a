import { useLocation } from 'preact-iso'

/** Views of one thing, each with an address of its own. */
export function Views({ label, views }: { label: string; views: { href: string; name: string }[] }) {
  const { path } = useLocation()
  return (
    <nav class="views" aria-label={label}>
      {views.map(({ href, name }) => (
        <a key={href} href={href} aria-current={path === href ? 'page' : undefined}>
          {name}
        </a>
      ))}
    </nav>
  )
}
