/** @jsxImportSource preact */

// Parts of the frame of every page. They have no state, because the build renders them into the front page too
// (`dashboard/prerender.ts`).

export function SkipLink() {
  return (
    <a class="skip" href="#main">
      Skip to content
    </a>
  )
}

export function HomeLink() {
  return (
    <a class="home" href="/">
      <img src="/favicon.svg" alt="" width={24} height={24} />
      <span>Slipway</span>
    </a>
  )
}

/** Links of the header for users who are not signed in. */
export const PUBLIC_LINKS = [
  ['/docs', 'Docs'],
  ['/sign-in', 'Sign in'],
] as const

export function Footer({ version }: { version: string }) {
  return (
    <footer class="foot">
      <nav aria-label="About this service">
        <a href="/docs">Docs</a>
        <a href="/health">Status</a>
      </nav>
      <span>Slipway {version}</span>
    </footer>
  )
}
