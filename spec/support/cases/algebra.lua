--- Products: what their rows are tried on (see cases.lua).
return function(tools)
  local case = tools.case
  return {
    einsum = function(d)
      return {
        case { "ik,kj->ij", { d { 2, 3 }, d { 3, 4 } } },
        case { "bij,bjk->bik", { d { 2, 2, 3 }, d { 2, 3, 2 } } },
        case { "ij->ji", { d { 2, 3 } } }, case { "ij->", { d { 2, 3 } } },
        case { "i,j->ij", { d { 2 }, d { 3 } } }, case { "ii->i", { d { 3, 3 } } },
        case { "ij,kj->ik", { d { 2, 3 }, d { 4, 3 } } },
        case { "i,i", { d { 4 }, d { 4 } } }, case { "ii", { d { 3, 3 } } },
        case { "bhqd,bhkd->bqhk", { d { 2, 2, 3, 4 }, d { 2, 2, 2, 4 } } },
        case { "ijk,jk->i", { d { 2, 3, 2 }, d { 3, 2 } } },
        case { "ijk,kj->i", { d { 2, 3, 2 }, d { 2, 3 } } },
        case { "ib,jb->bij", { d { 2, 3 }, d { 4, 3 } } },
        case { "bi,bj->ijb", { d { 3, 2 }, d { 3, 2 } } },
        case { "...ij,...jk", { d { 2, 1, 2, 3 }, d { 4, 3, 2 } } },
        case { "a...,a...->...", { d { 2, 3 }, d { 2, 4, 1 } } },
        case { "ij,jk->ik", { d { 2, 1 }, d { 3, 2 } } },
        case { "ij,ij->ij", { d { 2, 3 }, d { 1, 3 } } },
        case { "iij,j->i", { d { 2, 2, 3 }, d { 3 } } },
        case { "ij,kl->il", { d { 2, 3 }, d { 3, 2 } } },
        case { "ij,jk,kl,l->i", { d { 2, 3 }, d { 3, 2 }, d { 2, 4 }, d { 4 } } },
        case { "B a,Ba", { d { 2, 3 }, d { 2, 3 } } },
        case { "b,a", { d { 2 }, d { 3 } } }, case { ",->", { d {}, d {} } },
        case { "ij,jk->ik", { d { 2, 0 }, d { 0, 3 } } },
        case { "ij,jk->ik", { d { 0, 2 }, d { 2, 3 } } },
      }
    end,
    addmm = function(d)
      return {
        case { d { 2, 4 }, d { 2, 3 }, d { 3, 4 } },
        case({ d { 4 }, d { 2, 3 }, d { 3, 4 } }, { alpha = 0.5, beta = -2 }),
        case({ d { 2, 1 }, d { 2, 0 }, d { 0, 4 } }, { beta = 0.5 }),
        case { d {}, d { 0, 3 }, d { 3, 4 } },
      }
    end,
    baddbmm = function(d)
      return {
        case { d { 2, 3, 4 }, d { 2, 3, 2 }, d { 2, 2, 4 } },
        case({ d { 3, 1 }, d { 2, 3, 2 }, d { 2, 2, 4 } },
          { alpha = 2, beta = 0.5 }),
      }
    end,
    tensordot = function(d)
      return {
        case { d { 2, 3, 4 }, d { 3, 4, 5 } }, case { d { 2, 3 }, d { 2, 3 } },
        case { d { 2, 3 }, d { 3, 4 }, 1 }, case { d { 2 }, d { 3, 2 }, 0 },
        case { d { 2, 3, 4 }, d { 4, 2, 5 }, { { 3, 1 }, { 1, 2 } } },
        case { d { 2, 3, 4 }, d { 4, 3 }, { { -2, 3 }, { -1, 1 } } },
        case { d { 2, 3 }, d { 4, 3 }, { 2, -1 } },
        case { d { 2, 1 }, d { 1, 3 }, 1 }, case { d { 2, 0 }, d { 0, 3 }, 1 },
        case { d {}, d {}, 0 }, case { d { 3 }, d { 2 }, { {}, {} } },
      }
    end,
    inner = function(d)
      return {
        case { d { 3 }, d { 3 } }, case { d { 2, 3 }, d { 4, 3 } },
        case { d { 2, 3 }, d { 3 } }, case { d { 2, 2, 3 }, d { 2, 3 } },
        case { d {}, d { 3 } }, case { d { 2, 0 }, d { 3, 0 } },
        case { d { 2, 1 }, d { 3, 1 } },
      }
    end,
    kron = function(d)
      return {
        case { d { 2, 3 }, d { 3, 2 } }, case { d { 2 }, d { 3 } },
        case { d { 2, 3 }, d { 2 } }, case { d { 3 }, d { 1, 2, 2 } },
        case { d {}, d { 2, 2 } }, case { d { 0 }, d { 2 } },
      }
    end,
    cross = function(d)
      return {
        case { d { 3 }, d { 3 } }, case { d { 2, 3 }, d { 2, 3 } },
        case { d { 3, 2 }, d { 3, 1 }, 1 }, case { d { 2, 3, 2 }, d { 3, 2 }, -2 },
        case { d { 2, 1, 3 }, d { 4, 3 } }, case { d { 0, 3 }, d { 3 } },
      }
    end,
    bilinear = function(d)
      return {
        case { d { 2, 3 }, d { 2, 4 }, d { 5, 3, 4 }, d { 5 } },
        case { d { 3 }, d { 4 }, d { 2, 3, 4 } },
        case { d { 2, 1, 3 }, d { 2, 2 }, d { 2, 3, 2 } },
      }
    end,
    chain_matmul = function(d)
      return {
        case { { d { 2, 3 }, d { 3, 4 }, d { 4, 2 } } },
        case { { d { 3 }, d { 3, 4 }, d { 4, 2 }, d { 2 } } },
        case { { d { 2, 3 } } }, case { { d { 3 }, d { 3 } } },
        case { { d { 1, 3 }, d { 3, 1 }, d { 1, 2 } } },
      }
    end,
    cosine_similarity = function(d)
      return {
        case { d { 2, 3 }, d { 2, 3 } }, case { d { 3, 4 }, d { 4 }, -1 },
        case { d { 3, 2 }, d { 3, 1 }, 1 },
        case({ d { 2, 3 }, d { 2, 3 } }, { eps = 10 }),
      }
    end,
    cdist = function(d)
      return {
        case { d { 3, 2 }, d { 4, 2 } },
        case { d { 2, 1, 3, 2 }, d { 3, 2, 2 } },
        case({ d { 3, 4 }, d { 2, 4 } }, { p = 1 }),
        case({ d { 3, 4 }, d { 2, 4 } }, { p = 3 }),
        case({ d { 3, 4 }, d { 2, 4 } }, { p = math.huge }),
        case { d { 0, 2 }, d { 3, 2 } }, case { d { 2, 0 }, d { 3, 0 } },
      }
    end,
  }
end
