import type { Me } from '../../protocol/api/account.ts'
import { type Resource, useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Page } from '../app/page.tsx'
import { SignedIn } from '../app/signed-in.tsx'
import { SuspensionNotice } from '../app/suspension-notice.tsx'
import { ButtonLink } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Fact, Facts } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { LocalTime } from '../kit/time.tsx'
import { ApiKey } from './api-key.tsx'
import { DeleteAccount } from './delete-account.tsx'
import { Emails } from './emails.tsx'
import { NamedKeys } from './named-keys.tsx'
import { PlanAndUsage } from './plan-and-usage.tsx'
import { Programs } from './programs.tsx'
import { Sessions } from './sessions.tsx'
import { SignOut } from './sign-out.tsx'
import { Trusts } from './trusts.tsx'

/** `/account`: sessions, the API key, and the usage of the plan. */
export function AccountPage() {
  return (
    <SignedIn to="see your account">
      <OwnAccount />
    </SignedIn>
  )
}

function OwnAccount() {
  const me = useResource('me', () => slipway.me())
  return (
    <Page
      title="Account"
      actions={
        <>
          {me.value?.administrator && <ButtonLink href="/admin">Administration</ButtonLink>}
          <SignOut />
        </>
      }
    >
      <div class="stack wide">
        {me.value ? (
          <AccountSections me={me.value} resource={me} />
        ) : (
          !me.error && <Loading what="your account" />
        )}
        <ErrorNotice error={me.error} onRetry={me.reload} />
      </div>
    </Page>
  )
}

function AccountSections({ me, resource }: { me: Me; resource: Resource<Me> }) {
  const canChange = me.suspension === undefined
  return (
    <>
      <SuspensionNotice of="account" suspension={me.suspension} />
      <Facts>
        <Fact name="Signed in as">{me.email}</Fact>
        <Fact name="Since">
          <LocalTime at={me.createdAt} />
        </Fact>
      </Facts>
      <PlanAndUsage me={me} />
      {canChange && (
        <Emails me={me} onChanged={(change) => resource.set((known) => ({ ...known, ...change }))} />
      )}
      {canChange && (
        <ApiKey hasKey={me.hasKey} onMade={() => resource.set((known) => ({ ...known, hasKey: true }))} />
      )}
      <NamedKeys canCreate={canChange} />
      <Trusts canCreate={canChange} />
      <Programs />
      <Sessions />
      <DeleteAccount me={me} />
    </>
  )
}
