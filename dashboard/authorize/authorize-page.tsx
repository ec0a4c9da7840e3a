import { useRoute } from 'preact-iso'
import type { AuthorizationRequest, ProgramScope } from '../../protocol/api/programs.ts'
import { useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { signedInAs } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { Decision } from '../app/decision.tsx'
import { Page } from '../app/page.tsx'
import { SignedIn } from '../app/signed-in.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { LocalTime } from '../kit/time.tsx'

/** What each scope adds to those before it. */
const PERMISSIONS: Record<ProgramScope, string> = {
  read: 'See your sites, their files, versions and visits',
  publish: 'Publish new sites, and new versions of your sites',
  manage: 'Change the settings of your sites, delete them, and manage your domains',
}

/** `/authorize/:id`: a program asks for access to the account. */
export function AuthorizePage() {
  const { id = '' } = useRoute().params
  return (
    <SignedIn to="connect a program">
      <Authorization key={id} id={id} />
    </SignedIn>
  )
}

function Authorization({ id }: { id: string }) {
  const { value, error } = useResource(`authorizations/${id}`, () => slipway.authorization(id))
  return (
    <Page title="Connect a program" heading={value ? `Give ${value.program} access?` : undefined} narrow>
      <div class="stack">
        <ErrorNotice error={error} />
        {!value && !error && <Loading what="the request" />}
        {value && <Question id={id} request={value} />}
      </div>
    </Page>
  )
}

function Question({ id, request }: { id: string; request: AuthorizationRequest }) {
  const email = useSignal(signedInAs)
  const { program, returnsTo, scope, expiresAt } = request
  const decide = useAction(async (allow: boolean) => {
    location.assign((await slipway.decideAuthorization(id, allow)).url)
  })
  return (
    <>
      <p>
        <bdi>{program}</bdi> asks for access to the account of <strong>{email}</strong>, and returns to{' '}
        <strong>{returnsTo}</strong>. It may:
      </p>
      <ul>
        {permissionsOf(scope).map((permission) => (
          <li key={permission}>{permission}</li>
        ))}
      </ul>
      <p>
        Until <LocalTime at={expiresAt} />, or until you end the access under Account.
      </p>
      <Notice tone="warn" title="Allow it only if you have just connected this program yourself.">
        <p>Every program chooses its own name.</p>
      </Notice>
      <Decision decide={decide} />
    </>
  )
}

function permissionsOf(scope: ProgramScope): string[] {
  const scopes = Object.keys(PERMISSIONS) as ProgramScope[]
  return scopes.slice(0, scopes.indexOf(scope) + 1).map((one) => PERMISSIONS[one])
}
