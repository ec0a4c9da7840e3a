import { useState } from 'preact/hooks'
import type { AccountPlan, LimitsChange } from '../../protocol/api/account.schema.ts'
import { EXCEPTIONS } from '../../protocol/api/account.ts'
import type { AdminAccount } from '../../protocol/api/admin/lists.schema.ts'
import type { Policies } from '../../protocol/api/admin/policies.schema.ts'
import { useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { Confirm, Dialog } from '../kit/dialog.tsx'
import { Choice, TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { showToast } from '../kit/toast.tsx'
import { changeAdmin, readAdmin } from './admin-client.ts'
import { type ExceptionName, explainLimit, LIMIT_NAMES, parseLimit, showLimit, writeLimit } from './limits.ts'
import { undo } from './moderation-target.ts'
import type { RowDialogProps } from './row-menu.tsx'

export function usePolicies() {
  return useResource('admin/policies', () => readAdmin('getPolicies'))
}

/** Chooses the plan of an account, and limits in place of those of the plan. */
export function PlanDialog(props: RowDialogProps<AdminAccount>) {
  const { value, error, reload } = usePolicies()
  if (value) return <PlanForm plans={value.plans} {...props} />
  return (
    <Dialog title={`Plan of ${props.row.email}`} onClose={props.onClose}>
      {error ? <ErrorNotice error={error} onRetry={reload} /> : <Loading what="the plans" />}
    </Dialog>
  )
}

type Typed = Record<ExceptionName, string>

function PlanForm({
  row,
  plans,
  onChanged,
  onClose,
}: RowDialogProps<AdminAccount> & Pick<Policies, 'plans'>) {
  const { email, limits } = row
  const isKnown = plans.some(({ id }) => id === row.plan)
  const [plan, choose] = useState(row.plan)
  const [typed, type] = useState(() => toTyped(limits))
  const ofPlan = (plans.find(({ id }) => id === plan) ?? plans[0]!).limits
  const wrong = EXCEPTIONS.filter((name) => Number.isNaN(toValue(name, typed)))
  const save = useAction(async () => {
    const before = { plan: row.plan, limits: toChange(toTyped(limits)) }
    await setPlan(row, { plan, limits: toChange(typed) })
    await onChanged()
    onClose()
    const restore = async () => {
      await setPlan(row, before)
      await onChanged()
      showToast(`The plan of ${email} is as before.`)
    }
    // A plan that the settings no longer have cannot be set again.
    showToast(`The plan of ${email} is changed.`, isKnown ? () => undo(restore) : undefined)
  })
  return (
    <Confirm
      title={`Plan of ${email}`}
      verb="Save"
      variant="main"
      action={save}
      ready={wrong.length === 0}
      onClose={onClose}
    >
      <Choice
        label="Plan"
        value={plan}
        choices={[
          ...(isKnown ? [] : [{ value: row.plan, name: `${row.plan} (no longer in SLIPWAY_PLANS)` }]),
          ...plans.map(({ id, name }) => ({ value: id, name })),
        ]}
        onChoose={choose}
      />
      <p class="quiet small">What is empty below is as in the plan, also in a later one.</p>
      <div class="limit-fields">
        {EXCEPTIONS.map((name) => (
          <TextField
            key={name}
            label={LIMIT_NAMES[name]}
            placeholder={showLimit(name, ofPlan[name])}
            error={wrong.includes(name) ? explainLimit(name) : undefined}
            value={typed[name]}
            onWrite={(text) => type({ ...typed, [name]: text })}
          />
        ))}
      </div>
    </Confirm>
  )
}

/** `null` for that of the plan. */
function toValue(name: ExceptionName, typed: Typed): number | null {
  const text = typed[name].trim()
  return text === '' ? null : parseLimit(name, text)
}

function toTyped(limits: AdminAccount['limits']): Typed {
  const texts = EXCEPTIONS.map((name) => {
    const value = limits[name]
    return [name, value === undefined ? '' : writeLimit(name, value)]
  })
  return Object.fromEntries(texts) as Typed
}

function toChange(typed: Typed): LimitsChange {
  return Object.fromEntries(EXCEPTIONS.map((name) => [name, toValue(name, typed)]))
}

function setPlan({ id }: AdminAccount, change: { plan: string; limits: LimitsChange }): Promise<AccountPlan> {
  return changeAdmin('setPlan', { params: { id }, json: change })
}
