import { useLocation } from 'preact-iso'
import { LOGO_PATH, legalLinks } from '../../protocol/branding.ts'
import { rateLimit } from '../api/rate-limit.ts'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { useSignal } from '../api/use-signal.ts'
import { WindowDrop } from '../drop/window-drop.tsx'
import { Notice } from '../kit/notice.tsx'
import { useNow } from '../kit/time.tsx'
import { Toast } from '../kit/toast.tsx'
import { PaletteButton } from '../palette/palette-button.tsx'
import { SignInAgain } from '../sign-in/sign-in-again.tsx'
import { OperatorBanner } from './banner.tsx'
import { formatClock } from './format-time.ts'
import { Footer, HomeLink, PUBLIC_LINKS, SkipLink } from './frame-parts.tsx'
import { Locations, Pages } from './routes.tsx'

/** Requests left in an hour below which a notice is shown. */
const LOW_REQUESTS_THRESHOLD = 10

/** Interval at which a limit that has been reset leaves the page. */
const REFRESH_INTERVAL_MS = 15_000

/** The frame of every page. */
export function AppShell() {
  return (
    <Locations>
      <SkipLink />
      <Header />
      <OperatorBanner />
      <OriginMismatchNotice />
      <Pages />
      <FewRequestsLeft />
      <ServiceFooter />
      <SignInAgain />
      <Toast />
      <WindowDrop />
    </Locations>
  )
}

const OWNER_LINKS = [
  ['/sites', 'Sites'],
  ['/domains', 'Domains'],
  ['/account', 'Account'],
] as const

function Header() {
  const { path } = useLocation()
  const isSignedIn = useSignal(signedInAs) !== null
  const ownLinks = OWNER_LINKS.filter(([href]) => href !== '/domains' || settings.customDomains)
  const links = isSignedIn ? ownLinks : PUBLIC_LINKS
  return (
    <header class="top">
      <HomeLink name={settings.branding.name} mark={settings.branding.hasLogo ? LOGO_PATH : undefined} />
      <nav aria-label={settings.branding.name}>
        {links.map(([href, name]) => (
          <a key={href} href={href} aria-current={path === href ? 'page' : undefined}>
            {name}
          </a>
        ))}
        <PaletteButton />
      </nav>
    </header>
  )
}

function ServiceFooter() {
  const { branding, version } = settings
  const links = legalLinks(branding).map(({ kind, label, url }) => (
    <a key={kind} href={url}>
      {label}
    </a>
  ))
  return <Footer name={branding.name} version={version} links={links} />
}

/** Sessions are bound to one host name, and the service uses its own in links. */
function OriginMismatchNotice() {
  const { origin } = new URL(settings.baseUrl)
  if (origin === location.origin) return null
  return (
    <div class="page-notice">
      <Notice tone="warn" title={`Sign-in works only at ${origin}`}>
        <p>
          Open <a href={origin + location.pathname + location.search}>{origin}</a> to sign in. The
          administrator sets this URL with <code>SLIPWAY_BASE_URL</code>.
        </p>
      </Notice>
    </div>
  )
}

function FewRequestsLeft() {
  const left = useSignal(rateLimit)
  useNow(REFRESH_INTERVAL_MS)
  if (
    !left ||
    left.remaining > LOW_REQUESTS_THRESHOLD ||
    left.limit <= LOW_REQUESTS_THRESHOLD ||
    left.resetsAt < Date.now()
  )
    return null
  return (
    <div class="foot" role="status">
      {`${left.remaining} of ${left.limit} requests are left this hour. The limit resets at ${formatClock(left.resetsAt)}.`}
    </div>
  )
}
