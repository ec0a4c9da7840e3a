import type { SuspensionNotice as Suspension } from '../../protocol/api/fields.schema.ts'
import { settings } from '../api/settings.ts'
import { Notice } from '../kit/notice.tsx'
import { RelativeTime } from '../kit/time.tsx'

interface SuspensionNoticeProps {
  of: 'site' | 'account'
  /** Undefined while it is not suspended: nothing is shown. */
  suspension: Suspension | undefined
}

const EFFECTS = {
  site: "Visitors can't open it. You can download and delete it, but not change it.",
  account: "Visitors can't open your sites. You can download and delete them, but not change or publish any.",
}

/** Tells an owner why a site or the account is offline, and whom to contact. */
export function SuspensionNotice({ of, suspension }: SuspensionNoticeProps) {
  if (!suspension) return null
  const { reason, since } = suspension
  const { contactEmail } = settings
  return (
    <Notice tone="warn" title={`${of === 'site' ? 'This site' : 'Your account'} is suspended`}>
      <p>
        The reason: <bdi>{reason}</bdi>
      </p>
      <p>
        {EFFECTS[of]} Suspended <RelativeTime at={since} />.
      </p>
      <p>
        Contact the operator of this server
        {contactEmail && (
          <>
            : <a href={`mailto:${contactEmail}`}>{contactEmail}</a>
          </>
        )}
        .
      </p>
    </Notice>
  )
}
