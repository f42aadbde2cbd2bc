# Sourced by the lab's scripts: which backend, and where its parts are.

# "host" where this kernel has netem and we may use it, else "uml".
# LAB=uml or LAB=host overrides.
lab_backend() {
	if [ -n "${LAB:-}" ]; then
		echo "$LAB"
	elif [ "$(id -u)" = 0 ] && unshare -n sh -c \
	    'ip link add d0 type veth peer name d1 &&
	    tc qdisc add dev d0 root netem delay 1ms' >/dev/null 2>&1; then
		echo host
	else
		echo uml
	fi
}

lab_cache() {
	echo "${XDG_CACHE_HOME:-$HOME/.cache}/openssh-bdp/lab"
}

# A kernel for each configuration; a shim for each version of its source
lab_kernel() {
	echo "$(lab_cache)/linux-6.1-$(sha256sum < "$here/kernel.config" |
	    cut -c 1-12)"
}

lab_shim() {
	echo "$(lab_cache)/shim-$(sha256sum < "$here/shim.c" | cut -c 1-12).so"
}
