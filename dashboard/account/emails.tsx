import type { Me, MeChangeResponse } from '../../protocol/api/account.schema.ts'
import { NOTICE_KINDS, type NoticeKind } from '../../protocol/api/account.ts'
import { useAction } from '../api/action.ts'
import { slipway } from '../api/slipway.ts'
import { Switch } from '../kit/field.tsx'
import { ErrorNotice, Notice } from '../kit/notice.tsx'
import { Panel } from '../kit/panel.tsx'
import { LocalTime } from '../kit/time.tsx'

const KINDS = Object.entries(NOTICE_KINDS) as [NoticeKind, string][]

/** Which emails about events are sent, and why none arrive. */
export function Emails({ me, onChanged }: { me: Me; onChanged: (change: MeChangeResponse) => void }) {
  const set = useAction(async (kind: NoticeKind, isOn: boolean) =>
    onChanged(await slipway.updateMe({ notices: { [kind]: isOn } })),
  )
  return (
    <Panel title="Emails">
      {me.emailProblem && (
        <Notice tone="warn" title={`Emails to ${me.email} are refused`}>
          <p>
            Your mail server refused an email on <LocalTime at={me.emailProblem.at} />:{' '}
            {me.emailProblem.reply}
          </p>
          <p>No emails about events are sent until you sign in with a code from an email again.</p>
        </Notice>
      )}
      {KINDS.map(([kind, label]) => (
        <Switch
          key={kind}
          label={label}
          on={me.notices[kind]}
          busy={set.busy}
          onSwitch={(isOn) => set(kind, isOn)}
        />
      ))}
      <ErrorNotice error={set.error} />
    </Panel>
  )
}
