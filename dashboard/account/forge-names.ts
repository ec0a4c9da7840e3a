import type { Forge } from '../../protocol/api/trusts.ts'

/** The forges, as they call themselves. */
export const FORGE_NAMES: Record<Forge, string> = { github: 'GitHub', gitlab: 'GitLab' }
