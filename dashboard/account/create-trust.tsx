import { useState } from 'preact/hooks'
import { ACCOUNT_SCOPES, type AccountScope } from '../../protocol/api/keys.ts'
import type { Trust, TrustRules } from '../../protocol/api/trusts.schema.ts'
import { FORGES, type Forge, MAX_CONDITION_LENGTH } from '../../protocol/api/trusts.ts'
import { useAction } from '../api/action.ts'
import { atFields } from '../api/display-error.ts'
import { slipway } from '../api/slipway.ts'
import { Confirm } from '../kit/dialog.tsx'
import { Choice, Switch, TextField } from '../kit/field.tsx'
import { FORGE_NAMES } from './forge-names.ts'
import { ScopeChoice } from './scope-choice.tsx'

const FORGE_CHOICES = FORGES.map((value) => ({ value, name: FORGE_NAMES[value] }))

/** What a job is for, besides a pull request. */
const REF_CHOICES = [
  { value: 'branch', name: 'Branch' },
  { value: 'tag', name: 'Tag' },
  { value: 'environment', name: 'Environment' },
] as const
const REFS = REF_CHOICES.map(({ value }) => value)

type Ref = (typeof REFS)[number]

const NAME_HINTS = {
  ref: 'A final * stands for any ending.',
  environment: 'Every branch that may use the environment: protect it in the settings of the repository.',
}

const WRITTEN = { autocomplete: 'off', autocapitalize: 'none' } as const

/** Which jobs are trusted: those of a branch, tag or environment, and those of pull requests. */
interface Jobs {
  kind: Ref
  name: string
  /** The file that defines them; empty for any. */
  workflow: string
  pullRequests: boolean
}

interface CreateTrustProps {
  onCreated: (created: Trust) => void
  onClose: () => void
}

/** The form for a repository to trust. */
export function CreateTrust({ onCreated, onClose }: CreateTrustProps) {
  const [forge, setForge] = useState<Forge>('github')
  const [repository, setRepository] = useState('')
  const [site, setSite] = useState('')
  const [jobs, setJobs] = useState<Jobs>({ kind: 'branch', name: 'main', workflow: '', pullRequests: false })
  const [scope, setScope] = useState<AccountScope>('publish')
  const wanted = { forge, repository: repository.trim(), site: site.trim().toLowerCase(), scope }
  const isComplete = Boolean(wanted.repository && wanted.site && (jobs.name.trim() || jobs.pullRequests))
  const create = useAction(async () => onCreated(await slipway.createTrust({ ...wanted, ...toRules(jobs) })))
  const wrong = atFields(create.error, ['repository', 'site', 'workflow', ...REFS], 'site')
  return (
    <Confirm
      title="Trust a repository"
      verb="Trust repository"
      variant="main"
      action={create}
      ready={isComplete}
      isAtFields={wrong !== undefined}
      onClose={onClose}
    >
      <Choice
        label="Forge"
        value={forge}
        onChoose={(value) => setForge(value as Forge)}
        choices={FORGE_CHOICES}
      />
      <TextField
        label="Repository"
        hint="OWNER/REPOSITORY. Its first job decides which repository of this name is meant."
        value={repository}
        error={wrong?.repository}
        onWrite={setRepository}
        maxLength={MAX_CONDITION_LENGTH}
        {...WRITTEN}
      />
      <TextField
        label="Site"
        hint="Name of one of your sites."
        value={site}
        error={wrong?.site}
        onWrite={setSite}
        {...WRITTEN}
      />
      <JobFields jobs={jobs} wrong={wrong ?? {}} onWrite={setJobs} />
      <ScopeChoice scopes={ACCOUNT_SCOPES} value={scope} onChoose={setScope} />
    </Confirm>
  )
}

/** The rules of a request; empty fields are none. */
function toRules({ kind, name, workflow, pullRequests }: Jobs): Partial<TrustRules> {
  const [ref, file] = [name.trim(), workflow.trim()]
  return { pullRequests, ...(ref && { [kind]: ref }), ...(file && { workflow: file }) }
}

interface JobFieldsProps {
  jobs: Jobs
  wrong: Partial<Record<Ref | 'workflow', string>>
  onWrite: (jobs: Jobs) => void
}

function JobFields({ jobs, wrong, onWrite }: JobFieldsProps) {
  const { kind, name, workflow, pullRequests } = jobs
  return (
    <>
      <Choice
        label="Jobs of"
        value={kind}
        onChoose={(value) => onWrite({ ...jobs, kind: value as Ref })}
        choices={REF_CHOICES}
      />
      <TextField
        label="Name"
        hint={NAME_HINTS[kind === 'environment' ? kind : 'ref']}
        value={name}
        error={wrong[kind]}
        onWrite={(value) => onWrite({ ...jobs, name: value })}
        maxLength={MAX_CONDITION_LENGTH}
        {...WRITTEN}
      />
      <TextField
        label="Workflow"
        hint="File that defines the jobs, such as deploy.yml. Empty: any file."
        value={workflow}
        error={wrong.workflow}
        onWrite={(value) => onWrite({ ...jobs, workflow: value })}
        maxLength={MAX_CONDITION_LENGTH}
        {...WRITTEN}
      />
      <Switch
        label="Pull requests"
        hint="Jobs of pull requests can publish previews, and not the live version."
        on={pullRequests}
        onSwitch={(value) => onWrite({ ...jobs, pullRequests: value })}
      />
    </>
  )
}
