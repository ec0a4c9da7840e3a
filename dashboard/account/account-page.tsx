import type { Me } from '../../client/wire.ts'
import { type Resource, useResource } from '../api/resource.ts'
import { slipway } from '../api/slipway.ts'
import { Page } from '../app/page.tsx'
import { SignedIn } from '../app/signed-in.tsx'
import { day } from '../app/time-words.ts'
import { Trouble } from '../kit/notice.tsx'
import { Fact, Facts, Loading } from '../kit/panel.tsx'
import { ApiKey } from './api-key.tsx'
import { Browsers } from './browsers.tsx'
import { Leaving } from './leaving.tsx'
import { PlanAndUse } from './plan-and-use.tsx'
import { SignOut } from './sign-out.tsx'

/** `/account`: who is signed in where, with what key, and what of the plan is used. */
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
    <Page title="Account" actions={<SignOut />}>
      <div class="stack wide">
        {me.value ? <Parts me={me.value} resource={me} /> : !me.failing && <Loading what="your account" />}
        <Trouble failing={me.failing} onAgain={me.reload} />
      </div>
    </Page>
  )
}

function Parts({ me, resource }: { me: Me; resource: Resource<Me> }) {
  return (
    <>
      <Facts>
        <Fact name="Signed in as">{me.email}</Fact>
        <Fact name="Since">{day(me.createdAt)}</Fact>
      </Facts>
      <PlanAndUse me={me} />
      <ApiKey hasKey={me.hasKey} onMade={() => resource.set((known) => ({ ...known, hasKey: true }))} />
      <Browsers />
      <Leaving me={me} />
    </>
  )
}
