import { useState } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import type { AuthorizationRequest } from '../../protocol/api/programs.schema.ts'
import { useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { signedInAs } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { Decision } from '../app/decision.tsx'
import { Page } from '../app/page.tsx'
import { Permissions } from '../app/permissions.tsx'
import { SignedIn } from '../app/signed-in.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { LocalTime } from '../kit/time.tsx'

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
  const { value, error, reload } = useResource(`authorizations/${id}`, () => slipway.authorization(id))
  return (
    <Page title="Connect a program" heading={value ? `Give ${value.program} access?` : undefined} narrow>
      <div class="stack">
        <ErrorNotice
          error={error?.code === 'NOT_FOUND' ? { ...error, hint: 'Connect again in the program.' } : error}
          onRetry={reload}
        />
        {!value && !error && <Loading what="the request" />}
        {value && <Question id={id} request={value} />}
      </div>
    </Page>
  )
}

function Question({ id, request }: { id: string; request: AuthorizationRequest }) {
  const email = useSignal(signedInAs)
  const { program, returnsTo, scope, expiresAt } = request
  const [decided, setDecided] = useState<{ allow: boolean; url: string } | undefined>(undefined)
  const decide = useAction(async (allow: boolean) => {
    const { url } = await slipway.decideAuthorization(id, allow)
    // A program with a scheme of its own opens beside this page.
    setDecided({ allow, url })
    location.assign(url)
  })
  if (decided)
    return (
      <div role="status">
        <p>{decided.allow ? 'Allowed.' : 'Denied.'} You can close this page.</p>
        <p>
          <a href={decided.url}>
            Continue in <bdi>{program}</bdi>
          </a>
        </p>
      </div>
    )
  return (
    <>
      <p>
        <bdi>{program}</bdi> asks for access to the account of <strong>{email}</strong>, and returns to{' '}
        <strong>{returnsTo}</strong>. It may:
      </p>
      <Permissions scope={scope} />
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
