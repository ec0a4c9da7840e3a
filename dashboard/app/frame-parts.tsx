/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

// Parts of the frame of every page. They have no state, because the build renders them into the front page too
// (`dashboard/prerender.ts`).

export function SkipLink() {
  return (
    <a class="skip" href="#main">
      Skip to content
    </a>
  )
}

export function HomeLink({ name, mark = '/favicon.svg' }: { name: string; mark?: string | undefined }) {
  return (
    <a class="home" href="/">
      <img src={mark} alt="" width={24} height={24} />
      <span>{name}</span>
    </a>
  )
}

/** Links of the header for users who are not signed in. */
export const PUBLIC_LINKS = [
  ['/docs', 'Docs'],
  ['/sign-in', 'Sign in'],
] as const

interface FooterProps {
  name: string
  version: string
  /** Links to documents of the operator. */
  links: ComponentChildren
}

export function Footer({ name, version, links }: FooterProps) {
  return (
    <footer class="foot">
      <nav aria-label="About this service">
        <a href="/docs">Docs</a>
        <a href="/status">Status</a>
        {links}
      </nav>
      <span>
        {name} {version}
      </span>
    </footer>
  )
}
