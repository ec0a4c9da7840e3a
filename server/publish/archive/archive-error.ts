import { type ApiError, validationError } from '../../lib/errors.ts'

export function archiveError(message: string): ApiError {
  return validationError(
    [{ field: 'archive', message }],
    'Create the archive again as zip, tar or tar.gz, with the Content-Type of its format, and send all of it.',
  )
}
