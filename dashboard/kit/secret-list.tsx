import type { SecretFinding } from '../../protocol/api/errors.schema.ts'
import { formatNumber, stripControlChars } from '../../protocol/format.ts'
import { Button } from './button.tsx'

interface SecretListProps {
  secrets: readonly SecretFinding[] | undefined
  /** Publishes again, and lets the site have this secret from then on. */
  onAllow: (fingerprint: string) => unknown
}

/** Where the secrets are that kept a version from being published. */
export function SecretList({ secrets = [], onAllow }: SecretListProps) {
  return secrets.map(({ path, line, kind, excerpt, fingerprint }) => {
    const place = `${stripControlChars(path)}, line ${formatNumber(line)}`
    return (
      <p key={`${path} ${fingerprint}`}>
        {place}: {kind} <code>{excerpt}</code>{' '}
        <Button label={`Allow for this site: the secret in ${place}`} onClick={() => onAllow(fingerprint)}>
          Allow for this site
        </Button>
      </p>
    )
  })
}
