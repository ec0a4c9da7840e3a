import type { Me } from '../../client/wire.ts'
import { bound, count, figure, size } from '../../client/words.ts'
import { standing } from '../api/standing.ts'
import { useKept } from '../api/use-kept.ts'
import { clockTime } from '../app/time-words.ts'
import { Badge, Bar, Fact, Facts, Panel } from '../kit/panel.tsx'

const PLANS: Record<Me['plan'], string> = { free: 'Free', hobby: 'Hobby' }

/** What the plan allows, and how much of it is used. */
export function PlanAndUse({ me }: { me: Me }) {
  const { limits, usage } = me
  const hour = useHour(me)
  return (
    <Panel title="Plan and use" actions={<Badge tone="plain">{PLANS[me.plan]}</Badge>}>
      <div class="uses">
        <Use
          name="Requests this hour"
          used={hour.used}
          limit={hour.limit}
          note={`Starts again at ${clockTime(hour.resetsAt)}. Uploads are not counted.`}
        />
        <Use name="Domains" used={usage.domains} limit={limits.domains} />
      </div>
      <Facts>
        <Fact name="Sites">{figure(usage.sites)}</Fact>
        <Fact name="Stored">{size(usage.totalBytes)}</Fact>
      </Facts>
      <p class="quiet small">
        {`A site holds up to ${count(limits.filesPerSite, 'file')} and ${bound(limits.siteBytes)}, a file up to ${bound(limits.fileBytes)}. `}
        {`The last ${count(limits.versionsKept, 'version')} of each site ${limits.versionsKept === 1 ? 'is' : 'are'} kept.`}
      </p>
    </Panel>
  )
}

interface UseProps {
  name: string
  used: number
  limit: number
  note?: string
}

function Use({ name, used, limit, note }: UseProps) {
  const text = `${figure(used)} of ${figure(limit)}`
  return (
    <div class="stack tight">
      <p class="use">
        <span>{name}</span>
        <span>{text}</span>
      </p>
      <Bar label={name} share={limit === 0 ? 0 : used / limit} text={text} />
      {note && <p class="quiet small">{note}</p>}
    </div>
  )
}

/** The hour as the last answer of the API left it; every answer says so. */
function useHour({ limits, usage }: Me): { used: number; limit: number; resetsAt: number } {
  const now = useKept(standing)
  const limit = limits.requestsPerHour
  if (now?.limit === limit) return { used: limit - now.remaining, limit, resetsAt: now.resetsAt }
  return { used: usage.requestsThisHour, limit, resetsAt: Date.parse(usage.resetsAt) }
}
