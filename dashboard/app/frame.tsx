import { useLocation } from 'preact-iso'
import { signedInAs } from '../api/session.ts'
import { settings } from '../api/settings.ts'
import { standing } from '../api/standing.ts'
import { useKept } from '../api/use-kept.ts'
import { Notice } from '../kit/notice.tsx'
import { Toast } from '../kit/toast.tsx'
import { SignInAgain } from '../sign-in/sign-in-again.tsx'
import { Locations, Pages } from './routes.tsx'
import { clockTime } from './time-words.ts'

/** Requests that are left in an hour below which the page says so. */
const FEW = 10

/** What every page stands in. */
export function Frame() {
  return (
    <Locations>
      <Top />
      <Elsewhere />
      <Pages />
      <FewRequestsLeft />
      <SignInAgain />
      <Toast />
    </Locations>
  )
}

const FOR_OWNERS = [
  ['/sites', 'Sites'],
  ['/domains', 'Domains'],
  ['/account', 'Account'],
] as const

const FOR_ANYONE = [
  ['/docs', 'API reference'],
  ['/sign-in', 'Sign in'],
] as const

function Top() {
  const { path } = useLocation()
  const isSignedIn = useKept(signedInAs) !== null
  const ways = isSignedIn ? FOR_OWNERS : FOR_ANYONE
  return (
    <header class="top">
      <a class="home" href="/">
        <img src="/favicon.svg" alt="" width={24} height={24} />
        Slipway
      </a>
      <nav aria-label="Slipway">
        {ways.map(([href, name]) => (
          <a key={href} href={href} aria-current={path === href ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
    </header>
  )
}

/** Browsers keep a session for one name only, and the service signs addresses with its own. */
function Elsewhere() {
  const { origin } = new URL(settings.baseUrl)
  if (origin === location.origin) return null
  return (
    <div class="page-notice">
      <Notice tone="warn" title={`This service calls itself ${origin}, not ${location.origin}.`}>
        <p>
          Open <a href={origin + location.pathname + location.search}>{origin}</a> to sign in. Whoever runs it
          sets the name with <code>SLIPWAY_BASE_URL</code>.
        </p>
      </Notice>
    </div>
  )
}

function FewRequestsLeft() {
  const now = useKept(standing)
  if (!now || now.remaining > FEW || now.limit <= FEW || now.resetsAt < Date.now()) return null
  return (
    <div class="foot" role="status">
      {`${now.remaining} of ${now.limit} requests are left this hour; it starts again at ${clockTime(now.resetsAt)}.`}
    </div>
  )
}
