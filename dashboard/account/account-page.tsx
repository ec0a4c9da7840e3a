import type { Me } from '../../protocol/api/account.schema.ts'
import { type Resource, useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Page } from '../app/page.tsx'
import { SignedIn } from '../app/signed-in.tsx'
import { SuspensionNotice } from '../app/suspension-notice.tsx'
import { ButtonLink } from '../kit/button.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Fact, Facts } from '../kit/panel.tsx'
import { type PageSection, Section, Sectioned } from '../kit/side-list.tsx'
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

/** In their order on the page. */
const SECTIONS: PageSection[] = [
  { id: 'plan', name: 'Plan & usage' },
  { id: 'emails', name: 'Emails' },
  { id: 'key', name: 'API key' },
  { id: 'named-keys', name: 'Named keys' },
  { id: 'ci', name: 'Trusted repositories' },
  { id: 'programs', name: 'Programs' },
  { id: 'sessions', name: 'Active sessions' },
  { id: 'delete', name: 'Delete account', isDanger: true },
]

/** Those that a suspended account does not have. */
const CHANGES = ['emails', 'key', 'delete']

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
      <Sectioned
        label="Account"
        sections={canChange ? SECTIONS : SECTIONS.filter(({ id }) => !CHANGES.includes(id))}
      >
        <Section id="plan">
          <PlanAndUsage me={me} />
        </Section>
        {canChange && (
          <Section id="emails">
            <Emails me={me} onChanged={(change) => resource.set((known) => ({ ...known, ...change }))} />
          </Section>
        )}
        {canChange && (
          <Section id="key">
            <ApiKey hasKey={me.hasKey} onMade={() => resource.set((known) => ({ ...known, hasKey: true }))} />
          </Section>
        )}
        <Section id="named-keys">
          <NamedKeys canCreate={canChange} />
        </Section>
        <Section id="ci">
          <Trusts canCreate={canChange} />
        </Section>
        <Section id="programs">
          <Programs />
        </Section>
        <Section id="sessions">
          <Sessions />
        </Section>
        {canChange && (
          <Section id="delete">
            <DeleteAccount me={me} />
          </Section>
        )}
      </Sectioned>
    </>
  )
}
