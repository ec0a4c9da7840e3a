import type { AdminAccount, AdminSite } from '../../protocol/api/admin/lists.schema.ts'
import type { AdminSuspension, SuspensionRequest } from '../../protocol/api/admin/moderation.schema.ts'
import { toDisplayError } from '../api/display-error.ts'
import { signedInAs } from '../api/session.ts'
import { showToast } from '../kit/toast.tsx'
import { changeAdmin } from './admin-client.ts'

/** A site or an account, as an administrator acts on it. */
export interface ModerationTarget {
  kind: 'site' | 'account'
  /** Slug or email address. */
  name: string
  /** `null` while it is not suspended. */
  suspension: AdminSuspension | null
  /** Whether it is the account of the administrator. */
  isOwn?: boolean
  /** Returns what the administrator should know. */
  suspend(statement: SuspensionRequest): Promise<string | undefined>
  resume(): Promise<unknown>
  /** Deletes it permanently. */
  remove(reason: string): Promise<unknown>
}

export function siteTarget({ slug, suspension }: Pick<AdminSite, 'slug' | 'suspension'>): ModerationTarget {
  const params = { slug }
  return {
    ...{ kind: 'site', name: slug, suspension },
    suspend: async (json) => void (await changeAdmin('suspendSite', { params, json })),
    resume: () => changeAdmin('resumeSite', { params }),
    remove: (reason) => changeAdmin('removeSite', { params, json: { reason } }),
  }
}

/** `id` is the id of the account, or its email address. */
export function accountTarget({
  id,
  email,
  suspension,
}: Pick<AdminAccount, 'id' | 'email' | 'suspension'>): ModerationTarget {
  const params = { id }
  return {
    ...{ kind: 'account', name: email, suspension, isOwn: email === signedInAs.value },
    suspend: async (json) => (await changeAdmin('suspendAccount', { params, json })).message,
    resume: () => changeAdmin('resumeAccount', { params }),
    remove: (reason) => changeAdmin('removeAccount', { params, json: { reason } }),
  }
}

/** Suspends, or changes the texts of a suspension. The toast undoes the first one. */
export async function suspend(
  target: ModerationTarget,
  statement: SuspensionRequest,
  onChanged: () => Promise<void>,
): Promise<void> {
  const { name, suspension } = target
  const message = await target.suspend(statement)
  await onChanged()
  if (suspension) return showToast(`The suspension of ${name} is changed.`)
  showToast(`${name} is suspended. ${message ?? ''}`.trim(), () =>
    undo(() => resume(target, undefined, onChanged)),
  )
}

/** Ends a suspension. The toast starts it again, as it was. */
export async function resume(
  target: ModerationTarget,
  before: AdminSuspension | undefined,
  onChanged: () => Promise<void>,
): Promise<void> {
  const { name } = target
  await target.resume()
  await onChanged()
  const again = async () => {
    const { reason, publicReason, note } = before!
    const statement = { reason, ...(publicReason && { publicReason }), ...(note && { note }) }
    await target.suspend(statement)
    await onChanged()
    showToast(`${name} is suspended.`)
  }
  showToast(`${name} is not suspended.`, before && (() => undo(again)))
}

/** Runs what a toast offers; an error is shown in its place. */
export async function undo(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    showToast(`Couldn't undo it. ${toDisplayError(error).title}`)
  }
}
