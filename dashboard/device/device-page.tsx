import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { DeviceRequest } from '../../protocol/api/device.schema.ts'
import { MAX_USER_CODE_LENGTH } from '../../protocol/api/device.ts'
import { type Action, handleSubmit, useAction } from '../api/action.ts'
import { signedInAs } from '../api/session.ts'
import { slipway } from '../api/slipway.ts'
import { useSignal } from '../api/use-signal.ts'
import { Decision } from '../app/decision.tsx'
import { Page } from '../app/page.tsx'
import { Permissions } from '../app/permissions.tsx'
import { markNavigated } from '../app/route-focus.ts'
import { SignedIn } from '../app/signed-in.tsx'
import { Button } from '../kit/button.tsx'
import { TextField } from '../kit/field.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { Fact, Facts } from '../kit/panel.tsx'
import { RelativeTime } from '../kit/time.tsx'

/** `/device?code=`: allows a program that shows this code to use the account (RFC 8628). */
export function DevicePage() {
  return (
    <SignedIn to="connect a program">
      <CodeOrRequest />
    </SignedIn>
  )
}

function CodeOrRequest() {
  const { query } = useLocation()
  const [code, setCode] = useState(query.code ?? '')
  const [asked, setAsked] = useState<DeviceRequest | undefined>(undefined)
  const find = useAction(async () => setAsked(await slipway.deviceRequest(code)))
  // The link of the program has the code, which the question shows to be compared.
  useEffect(() => {
    if (query.code) void find()
  }, [])
  if (asked) return <Question asked={asked} />
  if (query.code && !find.error) return <Page title="Connect a program" narrow />
  return <CodeForm code={code} onWrite={setCode} find={find} />
}

interface CodeFormProps {
  code: string
  onWrite: (code: string) => void
  find: Action<[]>
}

function CodeForm({ code, onWrite, find }: CodeFormProps) {
  const box = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => box.current?.focus(), [find.error])
  return (
    <Page title="Connect a program" narrow>
      <form
        class="stack"
        onSubmit={handleSubmit(() => {
          markNavigated()
          return find()
        })}
      >
        <p>Enter the code that the program shows.</p>
        <TextField
          label="Code"
          value={code}
          onWrite={onWrite}
          box={box}
          maxLength={MAX_USER_CODE_LENGTH}
          autocomplete="off"
          autocapitalize="characters"
        />
        <ErrorNotice error={find.error} />
        <div class="choices">
          <Button variant="main" busy={find.busy} disabled={code.trim() === ''}>
            Continue
          </Button>
        </div>
      </form>
    </Page>
  )
}

/** What the program asks for, in words, and the decision. */
function Question({ asked }: { asked: DeviceRequest }) {
  const email = useSignal(signedInAs)
  const [decision, setDecision] = useState<boolean | undefined>(undefined)
  const decide = useAction(async (allow: boolean) => {
    const { allowed } = await slipway.decideDevice(asked.userCode, allow)
    markNavigated()
    setDecision(allowed)
  })
  if (decision !== undefined) return <Decided asked={asked} isAllowed={decision} />
  return (
    <Page title="Connect this program?" narrow>
      <div class="stack">
        <Facts>
          <Fact name="Program">
            <bdi>{asked.program}</bdi>
          </Fact>
          <Fact name="Machine">
            <bdi>{asked.machine}</bdi>
          </Fact>
          <Fact name="Code">
            <code>{asked.userCode}</code>
          </Fact>
          <Fact name="Network">{asked.network}</Fact>
          <Fact name="Requested">
            <RelativeTime at={asked.createdAt} />
          </Fact>
        </Facts>
        {asked.network !== asked.ownNetwork && (
          <Notice tone="warn" title="The program asks from another network than yours.">
            <p>
              You use {asked.ownNetwork}. Deny it, unless you started it yourself on a machine that is
              elsewhere.
            </p>
          </Notice>
        )}
        <p>
          It gets a key of your account <bdi>{email}</bdi>, until you revoke the key on the account page.
          {asked.replacesKey && ' The key that this machine has now stops working.'} It may:
        </p>
        <Permissions scope={asked.scope} withKey />
        <p>
          Continue only if you started this yourself and the program shows exactly this code. The names are
          those that the program gave itself.
        </p>
        <Decision decide={decide} />
      </div>
    </Page>
  )
}

function Decided({ asked, isAllowed }: { asked: DeviceRequest; isAllowed: boolean }) {
  const [title, sentence] = isAllowed
    ? ['Program connected', 'continues in a few seconds. You can close this page.']
    : ['Program denied', 'got no access to your account.']
  return (
    <Page title={title} narrow>
      <p>
        <bdi>{asked.machine}</bdi> {sentence}
      </p>
      <p>
        <a href="/account">See the keys of your account</a>
      </p>
    </Page>
  )
}
