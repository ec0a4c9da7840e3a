import { PROGRAM_SCOPES, type ProgramScope } from '../../protocol/api/programs.ts'

/** What each scope adds to those before it. */
const PERMISSIONS: Record<ProgramScope, string> = {
  read: 'See your sites, their files, versions and visits',
  publish: 'Publish new sites, and new versions of your sites',
  manage: 'Change the settings of your sites, delete them, and manage your domains',
}

/** What a program may do with access of this scope; a key of the whole account also gives access to others. */
export function Permissions({ scope, withKey = false }: { scope: ProgramScope; withKey?: boolean }) {
  return (
    <ul>
      {PROGRAM_SCOPES.slice(0, PROGRAM_SCOPES.indexOf(scope) + 1).map((one) => (
        <li key={one}>{PERMISSIONS[one]}</li>
      ))}
      {withKey && scope === 'manage' && <li>Create more keys, share your sites, and delete your account</li>}
    </ul>
  )
}
