import { redirect } from 'next/navigation'

/** Where one gets to by cutting a problem's address short. */
export default function Problems(): never {
  redirect('/docs#problems')
}
